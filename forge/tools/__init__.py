"""The eight tools: what a model is told of each, and what is done. One file each, names and schemas as contracts."""
