"""The paper's evidence: what its tables and figures say, and what runs say of them."""
