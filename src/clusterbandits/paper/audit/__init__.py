"""Every checkable statement of the paper, and what computation says about it."""
