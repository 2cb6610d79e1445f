"""What our own packages bring by hooks."""
