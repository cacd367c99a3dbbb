import { after, afterEach, before, beforeEach } from 'node:test';
import { withHooks } from './hooks.js';

export const useDatabase = (options) => withHooks({ beforeAll: before, afterAll: after, beforeEach, afterEach }, options);
