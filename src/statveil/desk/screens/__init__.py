"""The desk's screens: plain links and forms. A form that changes the job carries the state it was made on."""
