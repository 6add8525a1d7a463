"""The pages for people: what they show, and what they are made of."""
