"""The options study: five designs of one retrieval system, measured on the same labels and queries."""
