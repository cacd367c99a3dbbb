ENV["RAILS_ENV"] = "test"
require_relative "../config/environment"
require "rails/test_help"

class ActiveSupport::TestCase
  # (a few tests are enough to have two processes here)
  parallelize(workers: 2)
end
