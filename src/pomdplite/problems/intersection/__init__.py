"""An uncontrolled intersection: the types of the other drivers are hidden."""
