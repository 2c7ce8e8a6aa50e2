"""What can be asked of a model: one question a file."""
