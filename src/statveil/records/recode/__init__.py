"""Which fields are written how coarsely: menus, costs, search and proof."""
