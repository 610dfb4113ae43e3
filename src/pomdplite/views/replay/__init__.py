"""Replays: an episode as one HTML page, step by step."""
