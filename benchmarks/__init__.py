"""Measurements of time and memory, and the materialised reference they are measured against."""
