"""A table of the invented firms, by address and by wish."""

TABLE = "/v1/datasets/firms/tables"
WISH = {"dimensions": [{"id": "region"}, {"id": "size"}], "measure": "turnover"}
