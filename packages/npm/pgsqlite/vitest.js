import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { withHooks } from './hooks.js';

export const useDatabase = (options) => withHooks({ beforeAll, afterAll, beforeEach, afterEach }, options);
