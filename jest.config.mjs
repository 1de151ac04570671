/** Tests run on what ships: the compiled tree. `npm run build` first (test/run.mjs does). */
export default {
  rootDir: 'dist',
  testEnvironment: 'node',
  testMatch: ['**/*.spec.js'],
  transform: {},
  testTimeout: 30_000,
};
