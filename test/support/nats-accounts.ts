/** The work of a NATS operator with `nsc`: signed accounts, and credentials of a user. */
import { nkeys } from '@nats-io/nats-core';

type KeyPair = ReturnType<typeof nkeys.createUser>;

/** Everything is allowed in it, JetStream too. */
const UNLIMITED = {
  ...{ subs: -1, data: -1, payload: -1, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 },
  ...{ mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 },
};

export interface NatsAccounts {
  /** Lines of a server's configuration. */
  config: string;
  /** Text of a credentials file. */
  creds: string;
}

export function makeAccounts(): NatsAccounts {
  const operator = nkeys.createOperator();
  const system = nkeys.createAccount();
  const account = nkeys.createAccount();
  const user = nkeys.createUser();
  const keyOf = (pair: KeyPair) => pair.getPublicKey();
  const operatorJwt = sign(operator, keyOf(operator), { type: 'operator' });
  const jwtOf = (pair: KeyPair, limits: object) => sign(operator, keyOf(pair), { type: 'account', limits });
  const userJwt = sign(account, keyOf(user), { type: 'user', pub: {}, sub: {}, subs: -1, data: -1, payload: -1 });
  // The system account may not have JetStream.
  const bare = { ...UNLIMITED, mem_storage: 0, disk_storage: 0, streams: 0, consumer: 0 };
  return {
    config: `operator: ${operatorJwt}
system_account: ${keyOf(system)}
resolver: MEMORY
resolver_preload: { ${keyOf(system)}: ${jwtOf(system, bare)}, ${keyOf(account)}: ${jwtOf(account, UNLIMITED)} }
`,
    creds: `-----BEGIN NATS USER JWT-----
${userJwt}
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
${Buffer.from(user.getSeed()).toString()}
------END USER NKEY SEED------
`,
  };
}

function sign(issuer: KeyPair, subject: string, nats: object): string {
  const claims = {
    ...{ jti: subject, iat: Math.floor(Date.now() / 1000), iss: issuer.getPublicKey(), name: 'test', sub: subject },
    nats: { ...nats, version: 2 },
  };
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const text = `${encode({ typ: 'JWT', alg: 'ed25519-nkey' })}.${encode(claims)}`;
  return `${text}.${Buffer.from(issuer.sign(Buffer.from(text))).toString('base64url')}`;
}
