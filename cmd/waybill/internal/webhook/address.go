package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// ErrPrivate says that the receiver's address is not one of the public Internet, so perhaps one of ours.
var ErrPrivate = errors.New("address is not a public one")

// notPublic are the ranges of IPv4 that are not the public Internet: IANA's registry of special-purpose addresses,
// multicast, the reserved rest, and the metadata address of Azure, which is no special one.
var notPublic = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
	"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32",
)

// public6 is what IANA gave out of IPv6. notPublic6 are parts of it: protocols (Teredo among them), documentation,
// 6to4, which holds IPv4 addresses, and the direct delegation of AS112.
var (
	public6    = netip.MustParsePrefix("2000::/3")
	notPublic6 = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range texts {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// Public tells whether an address is one of the public Internet, so not loopback, private, link-local or shared, nor
// that of a metadata service. An IPv4 address within an IPv6 one, mapped or for NAT64, is judged as such.
func Public(a netip.Addr) bool {
	if a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	if a.Is4() {
		return !within(a, notPublic)
	}
	return public6.Contains(a) && !within(a, notPublic6)
}

func within(a netip.Addr, ranges []netip.Prefix) bool {
	for _, p := range ranges {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// onlyPublic is asked by the dialer about each address that it is about to connect to: after the name was resolved,
// so that a name that changes its address does not get through.
func onlyPublic(_ context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s", ErrPrivate, address)
	}
	if !Public(to.Addr()) {
		return fmt.Errorf("%w: %s: --http-allow-private allows it", ErrPrivate, to.Addr())
	}
	return nil
}
