"""The pages of docs/reference, one module each; `text` holds what they share."""
