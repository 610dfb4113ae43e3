"""What a person looks at: terminal drawings and pictures."""
