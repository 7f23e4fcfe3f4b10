"""The hybrid study: what each score of a hybrid search is worth, and where a gate belongs among them."""
