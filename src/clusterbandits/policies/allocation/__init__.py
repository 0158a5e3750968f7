"""A policy that tracks the pulls the lower bound asks for: OSSB."""
