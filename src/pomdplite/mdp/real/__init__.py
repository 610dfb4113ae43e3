"""Steps of models with noise or readings, whose outcomes are drawn instead of listed: searches and grids use them."""
