"""What the pytest plugin needs once a test uses it; pytest itself loads ``harness.pytest_plugin`` alone."""
