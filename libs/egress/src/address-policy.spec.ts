import { describe, expect, it } from '@jest/globals';
import { isPublicAddress, parseAddress } from './address-policy.js';

const FORBIDDEN = {
  'this host': ['0.0.0.0', '0.1.2.3', '::'],
  private: ['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255'],
  loopback: ['127.0.0.1', '127.255.255.254', '::1'],
  'link-local': ['169.254.0.1', 'fe80::1', 'fe80::1%eth0', 'febf::1'],
  'carrier NAT': ['100.64.0.1', '100.127.255.255'],
  'unique local': ['fc00::1', 'fd00::1', 'fdff::1'],
  'site-local': ['fec0::1'],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1', 'ff0e::1'],
  reserved: ['240.0.0.1', '255.255.255.255', '192.0.0.1', '192.88.99.1'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  benchmarking: ['198.18.0.1', '198.19.255.255', '2001:2::1'],
  discard: ['100::1'],
  'cloud metadata': ['169.254.169.254', '100.100.100.200', '168.63.129.16', '192.0.0.192', 'fd00:ec2::254'],
  'IPv4-mapped': ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '::FFFF:169.254.169.254'],
  'IPv4-compatible': ['::127.0.0.1', '::10.0.0.1'],
  'IPv4-translated': ['::ffff:0:127.0.0.1'],
  NAT64: ['64:ff9b::127.0.0.1', '64:ff9b::a00:1', '64:ff9b:1::808:808'],
  '6to4': ['2002:7f00:1::', '2002:a00:1::1', '2002:a9fe:a9fe::'],
  'Teredo server or client': ['2001:0:7f00:1::1', '2001:0:808:808:0:0:f5ff:fffe'],
  ISATAP: ['2606:4700::5efe:10.0.0.1', '2606:4700::200:5efe:127.0.0.1'],
  'no address at all': ['', 'example.com', '1.2.3', '256.1.1.1', '1.2.3.4.5', ':::'],
};

const PUBLIC = [
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '198.17.255.255',
  '223.255.255.255',
  '2606:4700::1111',
  '2a00:1450:4001:800::200e',
  '::ffff:8.8.8.8',
  '64:ff9b::8.8.8.8',
  '2002:808:808::1',
];

describe('the address policy', () => {
  for (const [kind, addresses] of Object.entries(FORBIDDEN)) {
    it(`forbids ${kind} addresses`, () => {
      expect(addresses.filter(isPublicAddress)).toEqual([]);
    });
  }

  it('lets public addresses through, up to the edges of the forbidden blocks', () => {
    expect(PUBLIC.filter((address) => !isPublicAddress(address))).toEqual([]);
  });

  it('reads a mapped address as the IPv4 address that a socket would use', () => {
    expect(parseAddress('[::ffff:7f00:1]')?.toString()).toBe('127.0.0.1');
  });
});
