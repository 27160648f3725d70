"""The web client as it is served: pages, the files of the build, and the headers that protect them."""
