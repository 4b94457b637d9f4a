"""Judges: is this call allowed? Pure functions and values, but for estop."""
