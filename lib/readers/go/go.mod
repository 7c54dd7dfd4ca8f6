module nestline

go 1.19
