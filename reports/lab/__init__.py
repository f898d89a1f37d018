"""What an experiment of the laboratory shows: ``lab.json``, and one HTML page for people."""
