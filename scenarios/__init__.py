"""What is sent: scenarios, arrivals, prompts."""
