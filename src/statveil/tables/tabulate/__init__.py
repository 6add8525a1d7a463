"""From records to cells with everything the rules ask about them."""
