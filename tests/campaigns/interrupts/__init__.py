"""Interrupts of every verb, and what they could leave behind."""
