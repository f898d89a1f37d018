"""How near a decoding step comes to what this machine allows: calibration, the cost of a step, its time."""
