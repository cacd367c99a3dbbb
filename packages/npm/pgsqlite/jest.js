import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { withHooks } from './hooks.js';

export const useDatabase = (options) => withHooks({ beforeAll, afterAll, beforeEach, afterEach }, options);
