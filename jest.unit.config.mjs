/** `npm run unit`: specs beside their sources, from TypeScript, without a build and without servers. */
export default {
  roots: ['<rootDir>/apps', '<rootDir>/libs'],
  testEnvironment: 'node',
  testMatch: ['**/*.spec.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/test/run/jest-transform.mjs' },
  moduleNameMapper: { '^@troupe/([^/]+)$': '<rootDir>/libs/$1/src/index.ts', '^(\\.{1,2}/.+)\\.js$': '$1' },
  // Reads the types of parameters, which only the compiler of the whole project writes.
  testPathIgnorePatterns: ['/api/openapi/openapi\\.spec\\.ts$'],
  testTimeout: 30_000,
};
