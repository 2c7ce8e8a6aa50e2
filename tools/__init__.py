"""What developers run beside the package: nothing here is installed with it."""
