//go:build !linux

package kernel

func adviseHuge([]float64) {}
