module piedmont

go 1.26
