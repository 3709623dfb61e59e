"""The promise that no answer is silently wrong, one file for each class of trials that mean to break it."""
