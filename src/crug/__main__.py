from crug.cli import main

main()
