"""Graph servers that run only on this machine and are shared by its processes, for the demo, tests and laptops."""
