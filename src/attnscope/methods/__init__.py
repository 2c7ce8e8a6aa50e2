"""What is made of the maps of all layers: pure functions on arrays, that know no model."""
