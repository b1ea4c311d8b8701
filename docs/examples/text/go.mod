module example.com/rhymes

go 1.26
