"""Running a pipeline: inputs bound and checked, the plan called, errors explained."""
