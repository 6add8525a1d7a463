"""From levels and signs to whole numbers for the smallest cells: signs searched, a program, repair, polish."""
