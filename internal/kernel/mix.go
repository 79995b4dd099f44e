package kernel

// Mix is the finalizer of SplitMix64 after one step of its counter: a bijection that gives unrelated outputs
// for nearby inputs. Source: Steele, Lea, Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.
func Mix(x uint64) uint64 {
	x += mixStep
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Key mixes a seed and where its random numbers are used into one key.
func Key(seed uint64, where ...uint64) uint64 {
	key := Mix(seed)
	for _, w := range where {
		key = Bits(key, w)
	}
	return key
}

// Bits returns 64 random bits: number k of those with that key.
func Bits(key, k uint64) uint64 { return Mix(key ^ Mix(k)) }

// mixStep is 2⁶⁴ divided by the golden ratio.
const mixStep = 0x9e3779b97f4a7c15
