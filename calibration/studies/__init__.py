"""One study per notebook and command: parameters in, one object that later cells show out."""
