//go:build !unix

package system

func maxRSS() (bytes int64, ok bool) { return 0, false }
