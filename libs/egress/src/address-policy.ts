/**
 * Which addresses the product may talk to. Pure.
 *
 * IPv4 is an exclusion list, IPv6 an inclusion list (2000::/3 minus special blocks): what is not known to be public
 * is forbidden. Addresses that carry an IPv4 address (mapped, NAT64, 6to4, Teredo, ISATAP, …) are judged by that address.
 */
import ipaddr from 'ipaddr.js';

type Range4 = [ipaddr.IPv4, number];
type Range6 = [ipaddr.IPv6, number];

const FORBIDDEN_V4: Range4[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
].map((cidr) => ipaddr.IPv4.parseCIDR(cidr));

const GLOBAL_UNICAST: Range6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Inside 2000::/3: protocol assignments (benchmarking, ORCHID, …), documentation. Teredo and 6to4 are judged by content. */
const FORBIDDEN_V6: Range6[] = ['2001::/23', '2001:db8::/32', '3fff::/20'].map((cidr) => ipaddr.IPv6.parseCIDR(cidr));

const MAPPED: Range6 = ipaddr.IPv6.parseCIDR('::ffff:0:0/96');
const NAT64: Range6 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
const SIX_TO_FOUR: Range6 = ipaddr.IPv6.parseCIDR('2002::/16');
const TEREDO: Range6 = ipaddr.IPv6.parseCIDR('2001::/32');

/**
 * Reads an address as a resolver or a URL host writes it: brackets and zone are dropped, an IPv4-mapped address becomes
 * the IPv4 address that a socket would really use. null when it is no IP address.
 */
export function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  const bare = text.replace(/^\[|\]$/g, '').replace(/%.*$/, '');
  if (ipaddr.IPv4.isValidFourPartDecimal(bare)) return ipaddr.IPv4.parse(bare);
  if (!ipaddr.IPv6.isValid(bare)) return null;
  const address = ipaddr.IPv6.parse(bare);
  return address.match(MAPPED) ? ipv4At(address, 12) : address;
}

/** True for an address on the open internet; false for everything else, text that is no address included. */
export function isPublicAddress(text: string): boolean {
  const address = parseAddress(text);
  if (address === null) return false;
  return address instanceof ipaddr.IPv4 ? isPublicV4(address) : isPublicV6(address);
}

function isPublicV4(address: ipaddr.IPv4): boolean {
  return !FORBIDDEN_V4.some((range) => address.match(range));
}

function isPublicV6(address: ipaddr.IPv6): boolean {
  if (address.match(NAT64)) return isPublicV4(ipv4At(address, 12));
  if (!address.match(GLOBAL_UNICAST)) return false;
  if (!isIsatapPublic(address)) return false;
  if (address.match(SIX_TO_FOUR)) return isPublicV4(ipv4At(address, 2));
  if (address.match(TEREDO)) return isPublicV4(ipv4At(address, 4)) && isPublicV4(inverted(ipv4At(address, 12)));
  return !FORBIDDEN_V6.some((range) => address.match(range));
}

/** An interface identifier `0000:5efe` or `0200:5efe` ends in the IPv4 address of an ISATAP tunnel. */
function isIsatapPublic(address: ipaddr.IPv6): boolean {
  const isIsatap = (address.parts[4] === 0 || address.parts[4] === 0x200) && address.parts[5] === 0x5efe;
  return !isIsatap || isPublicV4(ipv4At(address, 12));
}

function ipv4At(address: ipaddr.IPv6, offset: number): ipaddr.IPv4 {
  return new ipaddr.IPv4(address.toByteArray().slice(offset, offset + 4));
}

/** Teredo writes the client's address with every bit flipped. */
function inverted(address: ipaddr.IPv4): ipaddr.IPv4 {
  return new ipaddr.IPv4(address.octets.map((octet) => octet ^ 0xff));
}
