//go:build !unix

package main

func maxRSS() (bytes int64, ok bool) { return 0, false }
